"""rypt"""
